#!/bin/sh
# SPDX-License-Identifier: MIT
# Serves a model with vLLM on 127.0.0.1:8000 of a GPU box (Ubuntu or Debian with NVIDIA's driver):
# makes a virtual environment below ~/vllm the first time, and becomes the server.
#
#     sh vllm.sh [MODEL [OPTION OF vllm serve]...]
set -eu
model=${1:-Qwen/Qwen2.5-7B-Instruct}
test $# -eq 0 || shift

nvidia-smi --query-gpu=name,memory.total --format=csv,noheader || {
    echo "vllm.sh: no GPU that NVIDIA's driver knows" >&2
    exit 1
}
if ! test -x "$HOME/vllm/bin/vllm"; then
    python3 -m venv "$HOME/vllm" # package python3-venv
    "$HOME/vllm/bin/pip" install 'vllm==0.9.2'
fi
# Said, and not left to the version's default: with it and the size of the KV cache, which vLLM prints
# as it starts, it can be worked out how full the cache can get.
exec "$HOME/vllm/bin/vllm" serve "$model" --host 127.0.0.1 --port 8000 --max-num-seqs 64 "$@"
