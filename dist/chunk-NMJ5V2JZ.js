import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{c as r}from"./chunk-4CP3HS2W.js";import{a as t}from"./chunk-YKBBMY7I.js";import{setTimeout as a}from"node:timers/promises";var m={now:t(()=>Date.now(),"now"),async sleep(e,o){try{await a(e,void 0,{signal:o})}catch{throw r(o,"waiting")}}};export{m as a};
