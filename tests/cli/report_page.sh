# The page of pcere report in a browser: it draws itself without a complaint on its console and asks the network for nothing.
source "$(dirname "$0")/common.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "skipped: there is no Chromium"; exit 77; }
compile work <"$SOURCE/tests/cli/two_regions.c"
# Its DOM once it is drawn; what it says goes to the console, what it asks for to the network log.
browse() {
    HOME=$work run timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking --disable-component-update --no-first-run ${browser_flags:-} \
        "--user-data-dir=$work/profile" --enable-logging=stderr --v=0 "--log-net-log=$work/net.json" --virtual-time-budget=4000 "--window-size=$2" --dump-dom "file://$work/$1"
}
# How many requests began on the page: the browser's own updates are not its.
asked() { jq '[.events[].params? | objects | select((.url? // "" | test("^(https?|wss?):")) and (.initiator? // "" | . == "null" or startswith("file:")))] | length' net.json; }
quiet() {
    says "$1: the browser opens it" 0 out '</html>'
    holds "$1: nothing is on the console" test "$(grep -c 'CONSOLE' .err)" -eq 0
    is "$1: nothing is asked of the network" "$(asked)" 0
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
says "a measured machine: its signature is there" 0 out 'Signature of ' out '<td[^>]*><span>L1</span></td>' out '<td[^>]*><span>barrier</span></td>'
is "a measured machine: its charts are drawn, too" "$(grep -o '<canvas[^>]*style="[^"]*height' .out | wc -l)" "$([ "$(nproc)" -gt 1 ] && echo 6 || echo 5)"
# What a prediction lacks is said: pages made of this one with other documents.
cat >lacking.py <<'PYTHON'
import json, re, sys
text = open("full.html").read()
place = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)
def write(name, change):
    document = json.loads(place.group(1))
    change(document, document["predictions"])
    open(name, "w").write(text[:place.start(1)] + json.dumps(document).replace("<", "\\u003c").replace("&", "\\u0026") + text[place.end(1):])
def emptied(document, _):
    document.update(regions=[], predictions=[], invocations=[], runs=[])
def unasked(document, _):
    document.update(predictions=[])
    for region in document["regions"]:
        region.update(status="skipped", reason="not asked for", classes=[dict(one, captured=False) for one in region["classes"]])
def single(document, predictions):
    predictions[0]["predictions"] = predictions[0]["predictions"][:1]
def doubtful(document, predictions):
    point = predictions[0]["predictions"][1]
    opened = max(document["regions"], key=lambda one: one["time_ns"])["region"]          # the page shows its details
    heaviest = next(one for one in point["regions"] if one["region"] == opened)
    for region in (region for one in predictions for other in one["predictions"] for region in other["regions"]):
        region["classes"] = [dict(one, missing=False, members_ratio=1) for one in region["classes"]]
    point.update(missing=1, missing_ns=point["time_ns"] // 20, preempted_ratio=0.5, parts_ns={"scaled": point["time_ns"] // 2, "outside_regions": point["time_ns"] // 2})
    heaviest.update(basis="scaled", in_vivo_ns=heaviest["time_ns"])
    heaviest["classes"][0].update(missing=True, members_ratio=1.5, unseen=True)
    point.update(real_ns=point["time_ns"] * 2, real_waited_ratio=0.25)
    document["threads"] = 1
for change in emptied, unasked, single, doubtful:
    write(change.__name__ + ".html", change)
PYTHON
python3 lacking.py
for page in emptied unasked single doubtful; do
    browse $page.html 1200,1000
    quiet "$page"
    case $page in
    emptied) says "of a program without regions the page says that there is nothing to replay" 0 out 'entered no parallel region while it was captured' out 'The store holds no region' ;;
    unasked) says "where no region was captured it does not ask for replays" 0 out 'No region was captured, so that nothing can be replayed' out 'not asked for' ;;
    single) says "one thread count tells of no speed-up" 0 out 'Only 1 thread was replayed, which tells of no speed-up'
        is "and has one chart of the program, two of its heaviest region" "$(grep -o '<canvas[^>]*style="[^"]*height' .out | wc -l)" 3 ;;
    doubtful) says "what is guessed, missing, disturbed or unlike its class is said" 0 out '2 threads: guessed to 45.0 %, for which no replay counts: take the interval' \
            out 'real runs waited for a processor, which other work had, for 25.0 % of their time' out 'by shots .most in .* that were never held against the program' \
            out '1 codelet without a replay, 5.00 % of the time' out '1 class may not stand for all members' out 'no replay with 2 threads' out '100 % of this time was not replayed, but scaled'
        [ "$(nproc)" -lt 2 ] || says "where there are as many processors, so is other work" 0 out 'other work had a processor for 50.0 % of the time' ;;
    esac
done
# Three hundred regions, each of which weighs next to nothing, one with more than one thing to be said of it.
cat >light.py <<'PYTHON'
import copy, json, re, sys
text = open(sys.argv[1]).read()
place = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)
document = json.loads(place.group(1))
one = document["regions"][0]
document["regions"] = [dict(copy.deepcopy(one), region=f"light@many.c:{i}", line=i, share_ratio=0.001, time_ns=1000 + i, reason=None, thread_sized=None, io=None) for i in range(300)]
document["regions"][299].update(reason="it reads from a pipe", thread_sized="a table for threads", io="reads a pipe")
print(text[:place.start(1)] + json.dumps(document).replace("<", "\\u003c").replace("&", "\\u0026") + text[place.end(1):])
PYTHON
python3 light.py full.html >light.html
browse light.html 1200,1000
quiet "many light regions"
is "many light regions: the heaviest are listed all the same" "$(grep -o '<tr class="region"' .out | wc -l)" 12
says "many light regions: the others can be had" 0 out '12 of 300 shown' out 'regions under 0.5 %, too'
says "what is said of a region are sentences of their own" 0 out 'it reads from a pipe; at most 1 thread: a table for threads; reads a pipe'
# Many of everything, with long names: ten more predictions, fourteen classes, a C++ name of hundreds of letters. What the page then says of itself, it puts into its body.
cat >many.py <<'PYTHON'
import copy, json, re, sys
text = open(sys.argv[1]).read()
place = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)
document = json.loads(place.group(1))
for k in range(10):
    document["predictions"].append(dict(copy.deepcopy(document["predictions"][0]), flags=f"-O3 -fnumber={k}"))
region = max(document["regions"], key=lambda one: one["time_ns"])
long = "::".join(["outer_scope"] * 9) + "::Solver<" + ", ".join(["outer_scope::Argument<double>"] * 9) + ">::apply<int>@work.cpp:7"
for one in document["invocations"]:
    if one["region"] == region["region"]:
        one.update(region=long, number=list(range(1, 29)), begin_ns=[0] * 28, time_ns=[1000 * (1 + i % 14) for i in range(28)], representative=[1 + i % 14 for i in range(28)], invocations=28)
for point in (point for one in document["predictions"] for point in one["predictions"]):
    for one in point["regions"]:
        one["region"] = long if one["region"] == region["region"] else one["region"]
for word in ("first_of_two", "second_of_two"):
    twin = "outer_scope::" * 4 + "apply<Solver<double, outer_scope::" + word + ">>(int, Table<int> const&)::Visitor::operator()@work.cpp:9"
    document["regions"].append(dict(copy.deepcopy(region), region=twin, time_ns=1))
region.update(region=long, classes=[dict(copy.deepcopy(region["classes"][0]), representative=1 + i, time_ns=2000 * (1 + i)) for i in range(14)])
script = """<script>addEventListener("load", () => {
  const say = (key, value) => document.body.setAttribute("data-" + key, value), sets = i => Chart.getChart(document.querySelectorAll("canvas")[i]).data.datasets;
  const shown = sets(1).filter(set => set.label.startsWith("predicted") && !set.hidden), looks = list => new Set(list.map(set => set.borderColor + set.pointStyle)).size;
  say("predictions", [sets(1).filter(set => set.label.startsWith("predicted")).length, shown.length, looks(shown), new Set(shown.map(set => String(set.borderDash))).size].join(" "));
  say("classes", sets(3).map(set => set.label).join(", "));
  say("points", sets(3).reduce((count, set) => count + set.data.length, 0) + " of " + looks(sets(3)) + " looks");
  say("name", document.querySelector("tr.region td.name").textContent);
  say("alike", [...document.querySelectorAll("tr.region td.name")].map(cell => cell.textContent).filter(text => text.includes("_of_two")).sort().join(" "));
  say("whole", String(document.querySelector("tr.region td.name").title.length === document.querySelector(".full").textContent.length && document.querySelector(".full").textContent.length > 300));
  const chart = Chart.getChart(document.querySelectorAll("canvas")[1]), item = chart.legend.legendItems.find(one => one.text.startsWith("predicted"));
  chart.options.plugins.legend.onClick(null, item, chart.legend);
  say("hidden", chart.data.datasets.filter((set, i) => !chart.isDatasetVisible(i) && set.group === 0).length);
  say("overflow", document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth);
  const rows = () => [...document.querySelectorAll("#speedup-body tbody tr")].filter(row => getComputedStyle(row).display !== "none").length, fold = document.querySelector("#speedup-body .fold");
  say("rows", [rows(), fold.textContent, (fold.click(), rows()), fold.textContent].join(", "));
  dispatchEvent(new Event("beforeprint"));
  say("paper", getComputedStyle(document.body).backgroundColor + Chart.getChart(document.querySelectorAll("canvas")[1]).options.scales.x.ticks.color);
});</script></body>"""
print(text[:place.start(1)] + json.dumps(document).replace("<", "\\u003c").replace("&", "\\u0026") + text[place.end(1):].replace("</body>", script))
PYTHON
python3 many.py full.html >many.html
browse many.html 1200,1000
quiet "many series"
says "many series: eight of eleven predictions are drawn, each in its own colour, marker and dashes" 0 out 'data-predictions="11 8 8 8"'
says "many series: the seven heaviest classes have a colour each, the others share one" 0 out 'data-classes="class of #14, .*class of #8, 7 lighter classes"' out 'data-points="28 of 8 looks"'
says "a long C++ name is shortened, and whole in its tooltip and below it" 0 out 'data-name="…::outer_scope::outer_scope::Solver(<|&lt;)…(>|&gt;)::apply(<|&lt;)…(>|&gt;)@work.cpp:7"' out 'data-whole="true"'
says "names that would look alike keep a word that tells them apart" 0 out 'data-alike="[^"]*apply(<|&lt;)…first_of_two…(>|&gt;)\(…\)::Visitor::operator\(\)@work.cpp:9 [^"]*apply(<|&lt;)…second_of_two…(>|&gt;)\(…\)::Visitor::operator\(\)@work.cpp:9"'
says "a click in the legend hides a prediction with its band and real times" 0 out 'data-hidden="[34]"'
says "a long table shows its first rows, and all of them after a click" 0 out 'data-rows="12, show all 22 rows, 22, show the first 12 rows"'
says "on paper it is dark on white" 0 out 'data-paper="rgb\(255, 255, 255\)#5b6472"'
# A window has 500 pixels at least, a frame any number.
echo '<body><iframe src="many.html" width="400" height="3000"></iframe>' >narrow.html
cat >>narrow.html <<'END'
<script>addEventListener("load", () => { const inner = document.querySelector("iframe").contentDocument; document.body.setAttribute("data-narrow", [inner.scrollingElement.scrollWidth - inner.scrollingElement.clientWidth,
  [...inner.querySelectorAll("td, th, .scroll")].filter(one => one.scrollWidth > 400 || one.getBoundingClientRect().right > 400).length].join(" ")); });</script>
END
HOME=$work browser_flags="--allow-file-access-from-files" browse narrow.html 1200,1000
is "at 400 pixels nothing is wider than the screen" "$(grep -o 'data-narrow="[^"]*"' .out | head -1)" 'data-narrow="0 0"'
# Where the reader's system is dark, so is the page, its charts' words included.
sed 's|</body>|<script>addEventListener("load", () => document.body.setAttribute("data-dark", [matchMedia("(prefers-color-scheme: dark)").matches, getComputedStyle(document.body).backgroundColor, Chart.getChart(document.querySelectorAll("canvas")[1]).options.scales.x.ticks.color].join(" ")));</script></body>|' full.html >dark.html
browse dark.html 1200,1000
light=$(grep -o 'data-dark="[^"]*"' .out | head -1)
browser_flags="--blink-settings=preferredColorScheme=0" browse dark.html 1200,1000
dark=$(grep -o 'data-dark="[^"]*"' .out | head -1)
is "by default the page is light" "${light%% *}" 'data-dark="false'
is "on a dark system it is told" "${dark%% *}" 'data-dark="true'
holds "and has other colours ($light, $dark)" test "${light#* }" != "${dark#* }" -a "${light##* }" != "${dark##* }"

sed 's|</body>|<img src="http://127.0.0.1:9/asked.png"></body>|' full.html >asking.html
browse asking.html 1200,1000
says "the page's own policy lets nothing be asked of the network" 0 err "CONSOLE.*asked.png.*violates the following Content Security Policy"
is "and so nothing is" "$(asked)" 0
sed -i 's/http-equiv="Content-Security-Policy"/data-none/' asking.html
browse asking.html 1200,1000
holds "without it, what a page asks is noticed" test "$(asked)" -gt 0
sed 's/JSON.parse(document/JSON.purse(document/' full.html >broken.html
browse broken.html 1200,1000
holds "a page that fails is noticed" test "$(grep -c 'CONSOLE' .err)" -gt 0
finish
