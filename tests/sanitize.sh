#!/bin/sh
# The tests of the kernels under AddressSanitizer and UndefinedBehaviorSanitizer, on a copy built in
# a temporary folder. Needs gcc; takes a minute or two.
#     sh tests/sanitize.sh [PYTHON]
set -eu
python=${1:-python}
top=$(cd "$(dirname "$0")/.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r "$top/src" "$copy/src"
rm -f "$copy"/src/suffice/maths/kernels/*.so
include=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
for kernel in _fold _even _page _rado; do
  case $kernel in
    _even) floats="-ffp-contract=fast -fno-math-errno -fno-trapping-math" ;;
    *) floats="-ffp-contract=off -fno-math-errno" ;;
  esac
  # shellcheck disable=SC2086
  gcc -std=c11 -O1 -g -Wall -Wextra -Werror $floats -fno-omit-frame-pointer \
    -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all \
    -DPy_LIMITED_API=0x030B0000 "-I$include" -fPIC -shared \
    "$copy/src/suffice/maths/kernels/$kernel.c" -o "$copy/src/suffice/maths/kernels/$kernel.abi3.so" -lm
done
cd "$top"
# Python itself leaves memory behind at exit, so leaks are not looked for; what a sanitizer says goes
# past Python to the standard error, so that must not be captured
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
PYTHONPATH="$copy/src" OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 \
  "$python" -m pytest -q -p no:cacheprovider --capture=sys \
  tests/maths/kernels tests/laws/test_kernels_agree.py tests/sources/test_page.py
