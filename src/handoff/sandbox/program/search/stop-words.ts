// Word lists that hold for every repository: words without meaning, words of questions, and the abbreviations that programmers write.

const list = (text: string) => new Set(text.trim().split(/\s+/))

/** Never searched. */
export const stopWords = list(`
a an the and or but if then else of in on at to for from by with without within into onto over under between among through during before
after above below about against as is are was were be been being am do does did done doing has have had having can could may might must
shall should will would not no nor only own same so such than too very just also both each every any all some few more most other another
that this these those it its itself they them their theirs he she his her you your we our us i me my what which who whom whose when where
why how there here while until because since whether either neither rather instead versus vs via per upon across along like unlike etc one
two three first second multiple several various many much`)

/** Words of questions about code. They seldom distinguish one part of the code from another, so they count less. */
export const questionWords = list(`
function functions method methods class classes module modules file files code codebase repository repo project library framework package
component components implementation implementations implement implements implemented implementing mechanism mechanisms architecture
architectural pattern patterns design designed relationship relationships purpose role semantic semantics significance impact impacts
affect affects effect effects ensure ensures ensuring ensured use uses used using usage handle handles handling handled provide provides
provided providing perform performs performed performing performance behavior behaviour interact interacts interaction interactions
strategy approach logic process processes processing workflow system difference differences specific specifically underlying internal
internally different responsible determine determines determined located location defined definition definitions allow allows enable
enables enabling prevent prevents maintain maintains maintaining support supports supporting compare compared rely relies depend depends
dependency dependencies flow data execution executed execute invoked invoke invokes invoking call calls called calling implications
consequences potential optimization optimize complexity leverage leverages facilitate propagate consistent consistency correctly proper
properly cascading trade-off tradeoff tradeoffs off trade scalability work works working explain explanation describe overview summary summarize
summarise main goal goals please tell understand organized organised`)

/** Abbreviations of long words. A prefix of four letters and more needs no entry. */
const abbreviations = new Map(
  `argument:arg,args arguments:args,arg,kwargs keyword:kw,kwargs,kwarg environment:env,environ directory:dir,dirs document:doc,docs
documentation:doc,docs docstring:doc string:str integer:int number:num maximum:max minimum:min requirement:req request:req response:resp,res
message:msg context:ctx configuration:config,cfg,conf config:cfg,conf command:cmd exception:exc,err,error error:err,exc
attribute:attr,attrs attributes:attrs,attr format:fmt length:len object:obj reference:ref,refs temporary:tmp,temp value:val
variable:var,vars index:idx package:pkg library:lib database:db identifier:id,ident identity:id representation:repr specification:spec
parameter:param,params parameters:params,param initialization:init initialize:init initializer:init constructor:init,new,ctor
authentication:auth authorization:auth application:app utility:util,utils utilities:utils,util regular:re,regex expression:expr
expressions:expr,exprs function:func,fn callback:cb previous:prev current:cur,curr source:src destination:dst,dest synchronous:sync
asynchronous:async column:col,cols separator:sep delimiter:delim character:char,chars characters:chars,char position:pos image:img
button:btn generate:gen generator:gen iterator:iter iteration:iter information:info statistic:stat operator:op operation:op,ops
multiplication:mul,matmul addition:add subtraction:sub division:div,truediv equality:eq equal:eq comparison:cmp,compare delete:del,rm,remove
destructor:del cache:cached,lru,memo caching:cache,cached,lru`
    .split(/\s+/)
    .map((entry): [string, string[]] => {
      const [long = '', short = ''] = entry.split(':')
      return [long, short.split(',')]
    }),
)

export function abbreviationsOf(word: string): readonly string[] {
  return abbreviations.get(word) ?? []
}
