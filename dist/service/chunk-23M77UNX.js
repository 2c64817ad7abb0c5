import{a as n}from"./chunk-N2KG4B7V.js";function o(e,s,t={}){return new Response(`${JSON.stringify(s)}
`,{status:e,headers:{"content-type":"application/json; charset=utf-8",...t}})}n(o,"jsonResponse");export{o as a};
