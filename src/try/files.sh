# Sourced: the files that KERNEL and MORE name, as the array `files`, or a sentence and exit code 2.
# MORE has names without spaces, separated by spaces, or is one name.
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
# nvcc hands names to a shell.
for_nvcc() {
  local LC_ALL=C plain='^[A-Za-z0-9_./+,:=%^@~ -]+$'
  [[ $1 =~ $plain ]]
}
