import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{a as i}from"./chunk-YKBBMY7I.js";function e(r,n){let t=r.length;for(;t>0&&n(r[t-1]);)t--;return r.slice(0,t)}i(e,"trimEndOf");var s=i(r=>e(r,n=>n==="/"),"withoutTrailingSlashes");function g(r,n){return r===n?0:r<n?-1:1}i(g,"compareText");export{e as a,s as b,g as c};
