#!/bin/bash
# recorded_files.sh FOLDER: prints, as strings of assembly for recorded_gpus.cpp, the recorded runs
# in FOLDER: each file's name, and its contents. They are named GPU-SIZE.json or GPU-SIZE.txt; of
# two with the same name the JSON counts, which has more digits. Other files have such names, too: a
# table begins with its problem, a run as JSON names the program.
set -u
shopt -s nullglob
for file in "$1"/*-*.json "$1"/*-*.txt; do
  name=${file##*/}
  [[ $name =~ ^[A-Za-z0-9._-]+-[1-9][0-9]*\.(json|txt)$ ]] || continue
  case $name in
    *.json) head -n 3 "$file" | grep -q '"program": "gemm_steps"' || continue ;;
    *) [ ! -e "${file%.txt}.json" ] && head -n 1 "$file" | grep -q '^problem  C (' || continue ;;
  esac
  printf '".asciz \\"%s\\"\\n.incbin \\"%s\\"\\n.byte 0\\n"\n' "$file" "$file"
done
