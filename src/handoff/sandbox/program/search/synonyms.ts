// Words that programmers use for one thing: a question has one of them, and the code another.
import { stem } from './tokenize.js'

const groups = `
setting option preference config configuration; delete remove erase drop purge unlink destroy discard; fetch get retrieve obtain download;
load read open; save store write persist; create make build construct new; start begin launch boot init startup;
stop end terminate shutdown halt kill close quit exit; abort cancel interrupt; change modify update edit alter mutate;
error failure exception fault problem panic; fail crash break; warn warning notice diagnostic; send transmit emit dispatch publish post;
receive accept consume; notify broadcast signal inform event; listener observer subscriber watcher handler; listen subscribe watch observe;
wait await block sleep pause; timeout deadline expire expiry ttl; retry repeat again attempt backoff; order sort arrange rank;
order sequence priority; compare equal match diff; difference diff delta change; copy clone duplicate replicate;
split divide tokenize separate chunk partition; join merge combine concat concatenate unite; parse interpret decode read;
token lexer tokenizer scanner; serialize marshal encode dump; deserialize unmarshal decode parse; convert transform translate cast coerce map;
check validate verify assert; allow permit grant enable; deny forbid reject refuse disallow block; permission access authorization role acl policy;
login auth authenticate signin credential; password secret credential passphrase; user account member; encrypt cipher crypto; sign signature hmac;
hash digest checksum fingerprint; compress zip gzip deflate pack; unpack decompress inflate extract unzip; picture image photo bitmap;
colour color palette; address url uri link; address host ip; web http; browser client; folder directory path; path route;
route router endpoint dispatch; page view template; draw render paint display; display show print output; terminal console tty; shortcut alias;
hint suggestion suggest completion; typo misspelled similar suggestion; guess infer detect; detect recognize identify discover;
find search lookup locate; lookup resolve; choose select pick; filter exclude ignore skip omit; limit bound cap max threshold; size length bytes;
count number amount; speed fast performance optimize; remember cache memoize memo; reuse pool share recycle; thread worker concurrency parallel;
simultaneous concurrent parallel; lock mutex semaphore latch; background async daemon; queue backlog pending; schedule timer cron;
memory heap alloc buffer; free release dealloc; collect gc garbage; leak dangling; unused dead unreachable; cycle circular loop recursive;
tree hierarchy nested; parent ancestor; child descendant; root top base; neighbour adjacent; table row column; row record entity; database db sql;
query statement; transaction commit rollback; relation association foreign; schema model; migration upgrade; version release revision;
history log journal; log trace record; debug inspect; test spec; expect assert; package module library dependency;
plugin extension addon; import include require; export expose; download fetch; install setup; clean cleanup prune tidy;
stale outdated expired; old legacy deprecated; new recent latest; default fallback; missing absent null none undefined; empty blank;
optional nullable; constant literal; variable binding; argument parameter arg param; flag switch option; command subcommand cmd; shell bash;
help usage manual; message text; language locale translation i18n; date time timestamp calendar; duration interval period;
number numeric integer float; text string; letter character char; line row; indent indentation whitespace; quote escape; comment annotation;
annotation decorator attribute; tag label; name identifier; id identifier key; type class kind; interface trait protocol; method function;
constructor init; field property attribute member; inherit extend subclass derive; override replace substitute; wrap decorate proxy; proxy gateway;
middleware interceptor; intercept hook; hook callback; callback handler; request call; response reply result; header metadata; body payload content;
cookie session; form field; upload multipart; stream pipe; socket connection; connect dial; disconnect close; network net; server daemon;
cluster node shard; leader master primary; replica slave follower secondary; failover election promote; balance distribute; key index; index catalog;
iterate loop walk traverse visit; visitor walker traversal; graph edge node; random shuffle; round truncate; sum total aggregate; average mean;
probability likelihood; score rank weight; plot chart figure; axis tick; legend label; layout position align; scroll viewport; click mouse pointer;
keyboard key keypress; screen display window; resize scale; crop trim cut; trim strip; pad fill; style css theme; animate transition;
hidden invisible; visible shown; enable activate; disable deactivate off; toggle switch; temporary temp scratch tmp; backup snapshot;
restore recover undo revert; lock freeze; progress bar; status state; mode state; permission chmod; owner owned; environment env; secure safe;
attack vulnerability exploit; forgery csrf; escape sanitize; trust verify; certificate tls ssl; approve accept; wildcard glob pattern; pattern regex;
range slice span; chain pipeline; group cluster; category class; nearest closest; rename move; move relocate; shared common; private internal;
public exported; generate gen emit; compile build; bundle package; minify uglify; format pretty; lint check; fix repair correct; guard protect;
lazy deferred; eager immediate; delay defer debounce throttle; rate throttle; once single; many multiple; unique distinct; duplicate repeated;
sample example; document doc; readme documentation;
forward proxy redirect relay; expand substitute interpolate; highlight color syntax; money price payment billing; email mail smtp;
calculate compute evaluate; evaluate execute interpret; execute run exec; process subprocess fork spawn; position offset cursor;
beginning head prefix; ending tail suffix; unicode utf encoding charset; newline eol crlf; evict discard expire; past previous earlier history;
grow expand resize; similar related nearest fuzzy; wrong invalid illegal malformed; corrupt damaged broken; human readable pretty; large big huge;
small tiny short; strict lenient loose; whole full entire complete; part partial range section; bracket brace parenthesis; formula equation expression;
map dictionary dict; list array vector; commit revision sha; branch ref; stash shelve; device driver; permission privilege capability; limit quota;
idle inactive unused; health alive heartbeat ping; measure metric statistic telemetry; profile benchmark; report summary; dialog modal popup; table grid;
mobile phone android; timezone tz utc zone; item element entry; component widget element; reactive signal observable; mount attach; unmount detach remove;
inject provider dependency container; singleton instance; factory builder creator; strategy policy; rule constraint condition; predicate condition filter;
syntax grammar ast; bytecode opcode instruction; stack frame backtrace; scope namespace; generic template; verbose verbosity level;
quiet silent suppress mute; suppress ignore disable; confirm prompt ask; prompt input question; autocomplete completion; nested embedded inner;
cross origin site; concurrent async; vote election; redirect alias; conflict collision clash`

/** By stem: the other words of its groups. Made for the first question, so that the program without questions has none of it. */
let synonyms: Map<string, Set<string>> | undefined

export function synonymsOf(word: string): Iterable<string> {
  synonyms ??= readGroups()
  return synonyms.get(stem(word)) ?? []
}

function readGroups(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const group of groups.split(';')) {
    const words = group.trim().split(/\s+/)
    for (const word of words) {
      const others = found.get(stem(word)) ?? new Set()
      found.set(stem(word), others)
      for (const other of words) if (other !== word) others.add(other)
    }
  }
  return found
}
