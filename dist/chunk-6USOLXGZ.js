import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{a as r}from"./chunk-YKBBMY7I.js";function t(e){let n=URL.canParse(e)?new URL(e):void 0;if(!(!n||!/^https?:$/.test(n.protocol)||n.username!==""||n.password!==""))return n}r(t,"parseHttpUrl");export{t as a};
