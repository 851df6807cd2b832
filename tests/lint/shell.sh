#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ShellCheck on every shell script.
set -u
{
    echo ./dev
    echo ./.ci/run
    find . -name build -prune -o -name .git -prune -o -name '*.sh' -print
} | xargs shellcheck
