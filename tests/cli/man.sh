# The manual pages in docs/man are what the option tables say, and roff that can be read.
source "$SOURCE/tests/cli/common.sh" || exit 1
for verb in "" $("$PCERE" help --json | jq -r ".verbs[].name"); do
    page=pcere${verb:+-$verb}.1
    "$PCERE" help --man $verb >"$page" 2>.err; status=$?; cp "$page" .out
    says "there is a page $page" 0 out "^\.SH NAME" out '^\.SH EXIT STATUS'
    holds "docs/man/$page is the same (scripts/man writes it)" cmp "$page" "$SOURCE/docs/man/$page"
    if command -v groff >/dev/null; then
        groff -man -Tutf8 -ww "$page" >.out 2>.err; status=$?
        says "$page is good roff" 0 out 'done'
        holds "and leaves no warning" test ! -s .err
    fi
done
finish
