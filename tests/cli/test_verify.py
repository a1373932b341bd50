from __future__ import annotations

import base64
import hashlib
import json

import pytest

from tests.cli.conftest import done, run


@pytest.mark.usefixtures("released")
def test_a_sealed_file_verifies():
    data = done("verify", "bought.suffice", "--trust", "owner.pub", "--json").data
    assert data["ok"]
    assert len(data["verified_by"]) == 1


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_one_bit_changed_ends_with_four_even_where_the_checksum_was_mended(released, place):
    envelope = json.loads((released / "bought.suffice").read_bytes())
    payload = bytearray(base64.b64decode(envelope["payload"]))
    payload[int(place * len(payload))] ^= 1
    envelope["payload"] = base64.b64encode(payload).decode()
    envelope["sha256"] = hashlib.sha256(payload).hexdigest()
    changed = json.dumps(envelope, sort_keys=True, separators=(",", ":")) + "\n"
    (released / "changed.suffice").write_text(changed, "utf-8")
    refused = run("verify", "changed.suffice", "--trust", "owner.pub")
    assert refused.code == 4
    assert "changed after sealing" in refused.err


@pytest.mark.usefixtures("released")
def test_a_file_without_a_seal_and_a_question_without_a_key_are_refused():
    done("release", "spec.toml", "--ledger", "owner.db", "--epsilon", "8", "-o", "bare.suffice")
    assert run("verify", "bare.suffice", "--trust", "owner.pub").code == 4
    assert run("verify", "bought.suffice").code == 2
