import"./chunk-M5XCVGC4.js";import{a as t}from"./chunk-N2KG4B7V.js";var g={everyMs:1e4,every(r,a){let o=setInterval(a,r);return()=>clearInterval(o)}};function v(r=g){let a=new TextEncoder,o=new AbortController,n,c=0,d=t(e=>n?.enqueue(a.encode(e)),"write"),s=t(()=>{},"stopPinging"),u=new ReadableStream({start(e){n=e,s=r.every(r.everyMs,()=>d(`: ping

`))},cancel(e){n=void 0,s(),o.abort(e)}}),l=t((e,i)=>{n&&(c+=1,d(`event: ${e}
id: ${c}
data: ${JSON.stringify(i)}

`))},"send");return{response:new Response(u,{headers:{"content-type":"text/event-stream; charset=utf-8","cache-control":"no-cache, no-transform","x-accel-buffering":"no"}}),send:l,end(e,i){l(e,i),s(),n?.close(),n=void 0},gone:o.signal}}t(v,"eventStream");export{v as eventStream,g as usualPinging};
