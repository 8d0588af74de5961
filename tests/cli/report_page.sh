# The page of pcere report in a browser: it draws itself without a complaint on its console and asks the network for nothing.
source "$(dirname "$0")/common.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "skipped: there is no Chromium"; exit 77; }
compile work <"$SOURCE/tests/cli/two_regions.c"
# Its DOM once it is drawn; what it says goes to the console, what it asks for to the network log.
browse() {
    HOME=$work run timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking --disable-component-update --no-first-run \
        "--user-data-dir=$work/profile" --enable-logging=stderr --v=0 "--log-net-log=$work/net.json" --virtual-time-budget=4000 "--window-size=$2" --dump-dom "file://$work/$1"
}
quiet() {
    says "$1: the browser opens it" 0 out '</html>'
    holds "$1: nothing is on the console" test "$(grep -c 'CONSOLE' .err)" -eq 0
    # The browser's own updates are not the page's: requests carry who began them.
    is "$1: nothing is asked of the network" "$(grep -o '"initiator":"[^"]*"[^}]*"url":"http[^"]*"' net.json | grep -c 'initiator":"file\|initiator":"null')" 0
}
run "$PCERE" capture --all-classes ./work
run "$PCERE" report -o bare.html
browse bare.html 1200,1000
quiet "a store without replays"
says "a store without replays: its regions are listed" 0 out '<tr class="region"' out 'Nothing was replayed yet'
run "$PCERE" replay --threads 1,2
run "$PCERE" predict --threads 1,2 --measure --repeat 1
run "$PCERE" report -o full.html
for size in 1200,1000 400,800; do
    browse full.html $size
    quiet "$size"
    is "$size: both regions have a row" "$(grep -o '<tr class="region"' .out | wc -l)" 2
    is "$size: the charts are drawn, those of the heaviest region, too" "$(grep -o '<canvas[^>]*style="[^"]*height' .out | wc -l)" 4
    is "$size: the heaviest region is open" "$(grep -o '<tr class="detail"' .out | wc -l)" 1
done
says "a prediction says on what it rests" 0 out '% outside regions'
# The second heading of the table of thread counts, twice: descending.
sed 's|</body>|<script>addEventListener("load", () => { for (let i = 0; i < 2; i++) document.querySelectorAll("#speedup-body th button")[1].click(); document.body.setAttribute("data-first", document.querySelector("#speedup-body tbody tr").children[1].textContent); });</script></body>|' full.html >sorted.html
browse sorted.html 1200,1000
quiet "a sorted table"
says "its headings sort it" 0 out 'data-first="2"' out 'aria-sort="descending"'
# A machine that was measured shows its signature: one of known numbers, since a busy machine refuses to be measured.
probes_write known 0
run env PCERE_LIBDIR="$work/known" "$PCERE" platform discover --quick
says "a machine is measured" 0
run "$PCERE" report -o measured.html
browse measured.html 1200,1000
quiet "a measured machine"
says "a measured machine: its signature is there" 0 out 'Signature of ' out '<td[^>]*>L1</td>' out '<td[^>]*>barrier</td>'
is "a measured machine: its charts are drawn, too" "$(grep -o '<canvas[^>]*style="[^"]*height' .out | wc -l)" "$([ "$(nproc)" -gt 1 ] && echo 6 || echo 5)"
sed 's/JSON.parse(document/JSON.purse(document/' full.html >broken.html
browse broken.html 1200,1000
holds "a page that fails is noticed" test "$(grep -c 'CONSOLE' .err)" -gt 0
finish
