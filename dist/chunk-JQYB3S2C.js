import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{g as r}from"./chunk-BP7M5CTC.js";import{a as t}from"./chunk-YKBBMY7I.js";import{setTimeout as a}from"node:timers/promises";var s={now:t(()=>Date.now(),"now"),async sleep(e,o){try{await a(e,void 0,{signal:o})}catch{throw r(o,"waiting")}}};export{s as a};
