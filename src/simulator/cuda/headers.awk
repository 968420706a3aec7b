# headers.awk: prints a shell script that writes the headers of src/simulator/cuda/headers.txt into the folder
# that it runs in.
/^#/ { next }
/^[^ ]/ {
  kind = $1
  what = substr($0, length(kind) + 2)
  next
}
{ for (i = 1; i <= NF; ++i) header($i) }

function header(name, folder, base, text) {
  folder = base = name
  if (!sub("/[^/]*$", "", folder)) folder = "."
  sub(".*/", "", base)
  if (kind == "contents") text = "#pragma once\n#include \"" what "\""
  if (kind == "empty") text = "#pragma once\nnamespace " what " {\n}"
  if (kind == "standard")
    text = "#ifdef CUB_VERSION\n#include_next <" name ">\n#else\n#pragma once\n#include <" base \
      ">\nnamespace cuda::std {\nusing namespace ::std;\n}\n#endif"
  printf "mkdir -p %s && cat > %s << 'END'\n%s\nEND\n", folder, name, text
}
