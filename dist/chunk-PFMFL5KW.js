import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{a as o}from"./chunk-YKBBMY7I.js";function u(t){for(let n=t,e=0;n instanceof Error&&e<5;n=n.cause,e+=1){let{code:r}=n;if(typeof r=="string")return r}}o(u,"errorCode");export{u as a};
