#!/bin/bash
# try.sh try|show|step|debug|profile: compiles the CUDA file named by KERNEL, and the files named by
# MORE, in a folder of its own, and runs the program for that goal. Several may run at once in one
# checkout, and no file of theirs is left in it.
#
# try.sh compile OUT [FLAG...]: only compiles the files, for the CPU.
# try.sh cubins PROGRAM "ARCHITECTURES" NVCC FLAG...: only compiles them, by nvcc, for these architectures.
#
# From make: BUILD, where it has built; PRESENT, the architecture of the GPU that is here, if any.
# From the user: KERNEL, MORE, TRY_FLAGS (for the compiler, if they begin with -I, -D or -std, else for
# the program), LIBS (for the linker), FLAGS (for step), TRY_ARGS, PAGE, BLOCK, THREAD. No shell reads
# them. MORE has names without spaces, separated by spaces, or is one name.
set -u
goal=$1
shift
. src/try/can_work.sh
. src/try/limited.sh
can_work "$goal" || exit 2
[ -n "${KERNEL:-}" ] || { echo "which kernel? make $goal KERNEL=path/to/file.cu${1:-}" >&2; exit 2; }
# CXX, TRY_AS_CPU, TRIED_traced, TRIED_plain, REWRITER, C_LIBRARY, COUNTED, LIBRARIES, TRY_PARTS (objects), TIMED_LAUNCHES, HAS_GPU, NVCC, TRY_NVCCFLAGS and TRY_CUBIN_FLAGS.
. "$BUILD/tried.flags" || exit 2
work=$(exec mktemp -d "$BUILD/try/run.XXXXXX" 2> /dev/null) || {
  echo "$goal: $BUILD/try: no folder can be made there; make BUILD=/tmp/build $goal ... builds elsewhere" >&2
  exit 2
}
trap 'kill $(jobs -p) 2> /dev/null; wait; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
read -r -d '' -a files <<< "${MORE:-}" || true
[ ! -f "${MORE:-}" ] || files=("$MORE")
files=("$KERNEL" "${files[@]}")
for i in "${!files[@]}"; do
  [ -f "${files[i]}" ] && [ -r "${files[i]}" ] || {
    echo "${files[i]}: there is no such file, or it cannot be read; give the path of a CUDA file" >&2
    exit 2
  }
  # A compiler would take it for a flag.
  case ${files[i]} in [-@]*) files[i]=./${files[i]} ;; esac
done

# Files of C have no kernels, and names that C++ would change.
is_c() { [[ $1 = *.c ]]; }
C_FLAGS="-x c -std=gnu17 -g -gdwarf-4 -Og -w"

# translate OUT [FLAG...]: preprocesses each file, and rewrites it as C++ (src/simulator/rewrite), once for both
# copies. prefix.h is precompiled for each copy, and with -fpch-preprocess remains a #pragma in what is preprocessed.
# (If a -D of the user's makes it unfit, it is read as text.)
translate() {
  local out=$1 others=() i file source folder depends
  shift
  [ ${#files[@]} = 1 ] || others=("${files[@]}")
  for i in "${!files[@]}"; do
    file=${files[i]}
    ! is_c "$file" || continue
    source=$file
    if [ -n "$spaced" ]; then
      source=$work/$i.cu
      { printf '# 1 "%s"\n' "$file"; "$REWRITER" --literals < "$file"; } > "$source"
    fi
    [[ $file = */* ]] && folder=${file%/*}/ || folder=.
    limited "$file" $CXX $TRY_AS_CPU $TRIED_traced $color -include "$BUILD/try/traced.h" "$@" -iquote "$folder" \
      -MMD -MP -MF "$out.d" -MT "$out.traced.o" -fpch-preprocess -E "$source" -o "$work/$i.cpp" &&
      "$REWRITER" "${others[@]}" < "$work/$i.cpp" > "$work/$i.traced.ii" || return 1
    sed -e '/^#pragma GCC pch_preprocess/s/traced\.h\.gch/plain.h.gch/' -e "/^# .*\/cub\//w $work/cub" \
      "$work/$i.traced.ii" > "$work/$i.plain.ii"
    # In CUB, aliases hide their own templates, which nvcc accepts.
    [ ! -s "$work/cub" ] || permissive=-fpermissive
    # It depends on the user's file, and not on the copy with spaces.
    [ -z "$spaced" ] || {
      depends=$(< "$out.d")
      printf '%s\n' "${depends//"$source"/"$file"}" > "$out.d"
    }
  done
}

# copy COPY [FLAG...]: $work/COPY.o, of what is translated. The compiler would name what it reads "<stdin>" in its
# messages, so it gets the files themselves.
#
# A kernel and its shared arrays are found by the name of their file in the symbol table
# (machine/kernel_memory.cpp), so several files become one, the first.
copy() {
  local copy=$1 flags=TRIED_$1 objects=() object=$work/$1.o i names name
  shift
  for i in "${!files[@]}"; do
    [ ${#files[@]} = 1 ] || object=$work/$i.$copy.o
    if is_c "${files[i]}"; then
      limited "${files[i]}" $CXX $C_FLAGS "$@" -c "${files[i]}" -o "$object" || return 1
    else
      limited "$KERNEL" $CXX $TRY_AS_CPU ${!flags} $color $permissive -x c++-cpp-output -fpreprocessed \
        -c "$work/$i.$copy.ii" -o "$object" || return 1
    fi
    objects+=("$object")
  done
  [ ${#objects[@]} -gt 1 ] || return 0
  object=$work/$copy.o
  ld -r "${objects[@]}" -o "$object"
  names=$(readelf -sW "$object" | awk '$4 == "FILE" { if (first == "") first = $8; if ($8 != first) print $8 }')
  for name in $names; do
    objcopy --strip-symbol="$name" "$object" || return 1
  done
}

# Whether both copies define the function. $symbols is what readelf says of one.
defines() { [[ $symbols$'\n' = *[0-9]" $1"$'\n'* ]]; }

# with_symbols traced|plain|debug IN.o OUT.o: gives a copy the symbols that it has in the program. A file with an sgemm
# has its own name for each copy's, also if it is called by simt_sgemm (rewrite/rewritten.h). Of a whole program, the
# host's code runs in the plain copy: the traced one keeps no main and no initializers. Its kernels use the plain
# copy's device variables, because both keep their names and the linker keeps one of each.
with_symbols() {
  local copy=$1 kept=simt_users_main renamed=($C_LIBRARY)
  [ "$copy" = plain ] || renamed+=($COUNTED)
  if [ -n "$sgemm" ]; then
    [ "$copy" = plain ] && kept=_Z11sgemm_plainiiifPKfS0_fPf || kept=_Z12sgemm_tracediiifPKfS0_fPf
    renamed+=(--redefine-sym "$sgemm=$kept")
  elif [ "$copy" = traced ]; then
    kept=simt_keeps_none
    renamed+=("--remove-section=.init_array*" "--remove-section=.rela.init_array*" "--remove-section=.ctors*")
  else
    renamed+=(--redefine-sym main=simt_users_main)
  fi
  src/simulator/trace/keep_symbols.sh "$2" "$3" "$kept variables" "${renamed[@]}"
}

# compile_for_cpu OUT [FLAG...]: compiles the files twice. FLAGs are for the preprocessor. Leaves
#
#   OUT.traced.o      the copy with the tracer's calls
#   OUT.plain.o       the copy without such calls
#   OUT.d             the headers that the files include, for make
#
# COPY=debug: the traced copy keeps the main. Exits with 2 and a sentence if the files need what is not
# traced here, with 1 and the compiler's errors, or says which function is missing.
compile_for_cpu() {
  local out=$1 color= refusal= messages code spaced permissive= symbols sgemm=
  shift
  [ ! -t 2 ] || color=-fdiagnostics-color=always
  # Again if a macro has a parameter behind a string, with a space there.
  for spaced in "" 1; do
    code=1
    if translate "$out" "$@" 2> "$work/messages"; then
      copy plain "$@" 2> "$work/plain.messages" &
      plain=$!
      copy traced "$@" 2>> "$work/messages" && code=0
      wait $plain || { [ $code != 0 ] || mv "$work/plain.messages" "$work/messages"; code=1; }
    fi
    IFS= read -r -d '' messages < "$work/messages"
    [[ $messages = *'unable to find string literal operator'* ]] || break
  done
  messages=${messages%$'\n'}
  [ $code = 0 ] || refusal=$(LC_ALL=C awk -f src/try/refusal.awk src/simulator/cuda/refused.txt "$work/messages")
  [ -z "${refusal:-$messages}" ] || printf '%s\n' "${refusal:-$messages}" >&2
  [ -z "$refusal" ] || exit 2
  [ $code = 0 ] || exit 1
  symbols=$(readelf -sW "$work/traced.o") && [[ $symbols = *FILE* ]] ||  # at least that of the file itself
    { echo "$goal: readelf does not read what the compiler wrote; install binutils anew" >&2; exit 2; }
  if defines _Z10simt_sgemmiiifPKfS0_fPf; then
    sgemm=_Z10simt_sgemmiiifPKfS0_fPf
  elif defines _Z5sgemmiiifPKfS0_fPf; then
    sgemm=_Z5sgemmiiifPKfS0_fPf
  elif ! defines main; then
    echo "$KERNEL: defines neither main nor" \
      "void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C)" >&2
    exit 1
  fi
  with_symbols plain "$work/plain.o" "$out.plain.o" &
  with_symbols "${COPY:-traced}" "$work/traced.o" "$out.traced.o" && wait $! || exit 1
}

# nvcc hands names to a shell.
for_nvcc() {
  local LC_ALL=C plain='^[A-Za-z0-9_./+,:=%^@~ -]+$'
  [[ $1 =~ $plain ]]
}

# compile_cubins PROGRAM "ARCHITECTURES" NVCC FLAG...: leaves beside PROGRAM
#   PROGRAM.registers         a line for each kernel (src/model/ptxas_registers.awk)
#   PROGRAM.sm_86.sass        the code with its lines, by nvdisasm, for each architecture
#   PROGRAM.why_not_compiled  a sentence, if that is not possible
# A file that nvcc does not compile is no error here: the CPU needs only g++.
compile_cubins() {
  local program=$1 architectures=$2 known=" " arch number file cubin launch
  shift 2
  [[ $1 != */* ]] || PATH=$PATH:${1%/*}
  rm -f "$program".registers "$program".sm_*.sass "$program".why_not_compiled
  # The first reason.
  why() { [ -e "$program.why_not_compiled" ] || echo "$*" > "$program.why_not_compiled"; }
  # No code for this architecture.
  without() { why "$*"; rm -f "$program.sm_$arch.sass"; }
  for arch in $architectures; do
    [[ $known != *" $arch "* ]] || continue
    known+="$arch "
    number=0
    for file in "${files[@]}"; do
      ! is_c "$file" || continue
      for_nvcc "$file" || { without "nvcc hands file names to a shell, which could take this one for a command."; break; }
      # It takes a third of nvcc's time.
      launch=
      ! grep -qE '\<launch\>|#[ \t]*include[ \t]*"' "$file" || launch='-include src/simulator/cuda/launch.h'
      cubin=$work/sm_$arch.$number.cubin
      number=$((number + 1))
      if ! limited "$file" "$@" $launch -arch="sm_$arch" -cubin "$file" -o "$cubin" > "$cubin.messages" 2>&1; then
        without "nvcc does not compile the file for sm_$arch: $(grep -m1 -iE 'error|fatal' "$cubin.messages" || head -1 "$cubin.messages")"
        break
      fi
      c++filt -p < "$cubin.messages" | awk -f src/model/ptxas_registers.awk >> "$program.registers"
      if ! command -v nvdisasm > /dev/null; then
        why "nvcc's code cannot be read, because nvdisasm (of the CUDA toolkit) is missing."
      elif ! nvdisasm -gi "$cubin" >> "$program.sm_$arch.sass" 2> "$cubin.messages"; then
        without "nvdisasm cannot read nvcc's code for sm_$arch: $(head -1 "$cubin.messages")"
        break
      fi
    done
  done
}

# compile_for_gpu OUT FLAG...: leaves
#   OUT.gpu.o      the sgemm, as sgemm_gpu; empty if the files have none
#   OUT.on_gpu     if they are a whole program: that program, with a clock around each launch
#                  (src/profile/timed_launches.cu)
# A file that nvcc does not compile, for example because a header is missing, gets a note, and
# nothing is timed. Runs in a process of its own, which it ends.
compile_for_gpu() {
  local out=$1 log=$1.gpu.log objects=() wraps file object sgemm
  shift
  give_up() {
    echo "try: note: nvcc does not compile $1, so nothing is timed:" \
      "$(grep -m 1 -i 'error' "$log" || tail -n 1 "$log")" >&2
    nothing
    exit 0
  }
  nothing() {
    ${CXX:-c++} -x c++ -c /dev/null -o "$out.gpu.o"
  }
  for file in "${files[@]}"; do
    for_nvcc "$file" || {
      echo "nvcc hands file names to a shell, which could take this one for a command" >> "$log"
      give_up "$file"
    }
    object=$out.${#objects[@]}.for_gpu.o
    if is_c "$file"; then
      ${CXX:-c++} $C_FLAGS "${of_compiler[@]}" -c "$file" -o "$object" 2>> "$log" || give_up "$file"
    else
      "$NVCC" "$@" -x cu -c "$file" -o "$object" 2>> "$log" || give_up "$file"
    fi
    objects+=("$object")
  done
  ld -r "${objects[@]}" -o "$out.gpu.o"

  sgemm=_Z5sgemmiiifPKfS0_fPf
  if nm "$out.gpu.o" | grep -q " T $sgemm$" || ! nm "$out.gpu.o" | grep -q ' T main$'; then
    # The program finds a kernel's traced copy by its name, so no function here may have the same name.
    ld -r --force-group-allocation "$out.gpu.o" -o "$object"
    nm --defined-only "$object" | awk -v sgemm=$sgemm \
      '$2 ~ /^[TtW]$/ { print $3, $3 == sgemm ? "_Z9sgemm_gpuiiifPKfS0_fPf" : "of_gpu_" $3 }' | sort -u > "$out.names"
    objcopy --redefine-syms="$out.names" "$object" "$out.gpu.o"
    grep -q sgemm_gpu "$out.names" ||
      echo "try: note: this sgemm has other parameters than (M, N, K, alpha, A, B, beta, C), so nothing is timed" >&2
    exit
  fi
  wraps=(__cudaLaunchKernel cudaLaunchKernel cudaLaunchCooperativeKernel cudaLaunchKernelExC cudaDeviceReset)
  "$NVCC" "$@" "$out.gpu.o" "$TIMED_LAUNCHES" "${wraps[@]/#/-Xlinker=--wrap=}" -lcublas -lcurand "${libs[@]}" \
    -o "$out.on_gpu" 2>> "$log" || give_up "$KERNEL"
  nothing
}

case $goal in
  compile) compile_for_cpu "$@"; exit ;;
  cubins) compile_cubins "$@"; exit 0 ;;
esac

# The words of a text as a shell would split it, in the array `words`.
split() {
  words=()
  [[ $2 =~ [^[:space:]] ]] || return 0
  mapfile -t words < <(xargs -n 1 printf '%s\n' <<< "$2" 2> /dev/null)
  xargs printf '%s' <<< "$2" > /dev/null 2>&1 || { echo "$1=$2: a quote is not closed" >&2; exit 2; }
}
split TRY_FLAGS "${TRY_FLAGS:-}"
of_compiler=() of_program=(--file "$KERNEL")
of_nvcc=()
for ((i = 0; i < ${#words[@]}; ++i)); do
  word=${words[i]}
  case $word in
    -I* | -D*) of_compiler+=("$word") ;;
    # The CPU's compiler reads C++20, of which older programs are a part.
    -std | --std) of_nvcc+=("-std=${words[i += 1]:-}") ;;
    -std=* | --std=*) of_nvcc+=("-std=${word#*=}") ;;
    *) of_program+=("$word") ;;
  esac
done
flags=("${of_program[@]:2}")
split FLAGS "${FLAGS:-}"
[ "$goal" != step ] || of_program+=("${words[@]}")
split TRY_ARGS "${TRY_ARGS:-}"
[ ${#words[@]} = 0 ] || of_program+=(-- "${words[@]}")
split LIBS "${LIBS:-}"
libs=("${words[@]}")

# link OUT OBJECT...: on the CPU, where the simulator has CUDA's own libraries. Those, and PTX's
# instructions, are compiled for the first program that calls them.
link() {
  local out=$1 lib messages=$work/messages here=() called=$BUILD/called.a
  shift
  for lib in "${libs[@]}"; do
    case $lib in -lcud* | -lcublas* | -lcurand* | -lnvToolsExt*) ;; *) here+=("$lib") ;; esac
  done
  while true; do
    [ ! -e "$called" ] || set -- "$@" "$called"
    LC_ALL=C $CXX "$@" $TRY_PARTS $LIBRARIES "${here[@]}" -o "$out" 2> "$messages" && return
    [ ! -e "$called" ] && grep -q 'undefined reference' "$messages" || break
    # Without the other make's job server, which only its own recipes may use.
    MAKEFLAGS=$(sed -E 's/ --jobserver-[a-z]+=[^ ]*//g' <<< "${MAKEFLAGS:-}") make --no-print-directory "$called" || exit 2
  done
  awk -v kernel="$KERNEL" '
    match($0, /cannot find [^ :]+/) {
      print "LIBS: " substr($0, RSTART + 12, RLENGTH - 12) ": there is no such library here"
      exit found = 1
    }
    match($0, /undefined reference to [`\047][^\047]*/) {
      name = substr($0, RSTART + 24, RLENGTH - 24)
      print kernel ": " name " is called and not defined; name its file in MORE, or its library in LIBS"
      exit found = 1
    }
    END { exit !found }' "$messages" >&2 || cat "$messages" >&2
  exit 2
}

program=$work/yours
if [ "$goal" = debug ]; then
  COPY=debug
  compile_for_cpu "$program" "${of_compiler[@]}"
  link "$program" "$program.traced.o"
  src/try/debug.sh "$program" "${BLOCK:-0,0}" "${THREAD:-0,0}" debug "${of_program[@]}"
  exit
fi
if [ -n "$NVCC" ]; then
  compile_cubins "$program" "$("$BUILD/try/without_kernel" architecture "${flags[@]}") $PRESENT" \
    "$NVCC" $TRY_CUBIN_FLAGS "${of_nvcc[@]}" "${of_compiler[@]}" &
fi
of_gpu=
if [ -n "$HAS_GPU" ]; then
  compile_for_gpu "$program" $TRY_NVCCFLAGS "${of_nvcc[@]}" "${of_compiler[@]}" &
  of_gpu=$program.gpu.o
fi
compile_for_cpu "$program" "${of_compiler[@]}"
wait
link "$program" "$program.traced.o" "$program.plain.o" $of_gpu
case $goal in
  try) "$program" "${of_program[@]}" ;;
  show) "$program" --size 64 --show "${PAGE:-$BUILD/show.html}" "${of_program[@]}" ;;
  step) "$program" --step "${of_program[@]}" ;;
  profile) src/profile/profile.sh file "$program" "${of_program[@]}" ;;
esac
