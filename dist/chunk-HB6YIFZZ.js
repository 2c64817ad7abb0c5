import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{a as w,e as b,g as D}from"./chunk-2KNHXINW.js";import{o as S}from"./chunk-ITT3254R.js";import{a as l,d as i,f as x,g,j as u,l as h,m as c,p as y,q as d}from"./chunk-KHHE3U6X.js";import{a as n}from"./chunk-YKBBMY7I.js";function k(e,t=6e4){return T(A(b(D(e,t)).split(`
`)).join(`
`))}n(k,"cleanModelText");function T(e){return e.split(`
`).map(t=>t.slice(0,W(t))).join(`
`).replace(/\n{3,}/g,`

`).replace(/^\n+/,"").trimEnd()}n(T,"tidy");function W(e){let t=e.length;for(;e[t-1]===" "||e[t-1]==="	";)t--;return t}n(W,"endOf");function A(e){let t=[],r;for(let a of e){let o=/^\s*(?:(`{3,})([^`\n]*)$|(~{3,})(.*))/.exec(a),p=o?.[1]??o?.[3]??"",m=(o?.[2]??o?.[4]??"").trim();r&&o&&p.startsWith(r.mark)&&m===""?(j(t,r),r=void 0):r?t.push(a):o?(t.push("",p+/^[\w+#.-]*/.exec(m)[0]),r={mark:p,at:t.length}):/^ {0,3}\[[^\]]*\]:/.test(a)||t.push(M(a).replace(/^\s*(?=~~~)/,"$&\\"))}return r&&j(t,r),t}n(A,"cleanLines");function j(e,t){for(;e.length>t.at&&e.at(-1).trim()==="";)e.pop();e.length===t.at?e.pop():e.push(t.mark)}n(j,"close");function M(e){let t="",r=0;for(let[a,o]of w(e))t+=$(e.slice(r,a))+e.slice(a,o),r=o;return t+$(e.slice(r))}n(M,"cleanLine");function $(e){return e.replace(/\\[\s\S]|`/g,t=>t==="`"?"\\`":t).replace(/\]\(/g,"] (").replace(/\]:/g,"]\\:").replace(/<(?=[A-Za-z/!?])/g,"&lt;")}n($,"withoutMarkup");var f=["What it is and for whom","How it is built","Where to start reading","How to build, test and run it, and its risks"],J={bytes:2e6,statements:60,written:1e3,text:4e3,citations:12,names:40,lines:1e3,path:4096,directories:2e3,words:24},s=J,O=n((e,t)=>{let r=u(e,t);if(r<1)throw new l(`${t} is not the number of a line`);return r},"line"),L=d({path:i(s.path),from:O,to:O,blob:g,digest:x}),N=n((e,t)=>{let r=L(e,t);if(r.to<r.from||r.to-r.from>=s.lines)throw new l(`${t} is not a range of lines`);return r},"evidenceShape"),H=n((e,t)=>V(i(s.text)(e,t)),"sentence"),I=d({text:H,citations:c(N,s.citations),names:y(c(i(s.path),s.names)),opens:y(h("paragraph","item"))}),P=d({directory:i(s.path),words:c(i(60),s.words)}),U=d({heading:i(200),statements:c(I,s.statements)}),z=n((e,t)=>{let r=c(U,f.length)(e,t);if(r.length!==f.length)throw new l(`${t} does not have ${f.length} sections`);return r.map(({statements:a},o)=>({heading:f[o],statements:a.filter(Z)}))},"sections"),_=d({version:h(1),commit:g,model:i(300),prompts:u,inputTokens:u,sections:z,directories:c(i(s.path),s.directories),words:c(P,s.directories)});function X(e){return S(e,_,"summary.json")}n(X,"decodeSummaryRecord");function Y(e){let{sections:t,words:r,...a}=_(e,""),o=n(({heading:E,statements:v})=>`{"heading":${JSON.stringify(E)},"statements":${R(v)}}`,"written"),m=`${JSON.stringify(a).slice(0,-1)},
"sections":[
${t.map(o).join(`,
`)}
],
"words":${R(r)}}
`;return new TextEncoder().encode(m)}n(Y,"encodeSummaryRecord");var R=n(e=>e.length===0?"[]":`[
${e.map(t=>JSON.stringify(t)).join(`,
`)}
]`,"rows");function V(e){return k(e.replace(/\s+/g," ").trim()).replaceAll(`
`," ")}n(V,"cleanSentence");var Z=n(({text:e})=>e!=="","isSaid");function ee({sections:e}){return e.flatMap(({statements:t})=>t)}n(ee,"statementsOf");export{f as a,J as b,N as c,I as d,X as e,Y as f,R as g,V as h,ee as i};
