import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{a as t}from"./chunk-YKBBMY7I.js";function e(n,i){let r=n.length;for(;r>0&&i(n[r-1]);)r--;return n.slice(0,r)}t(e,"trimEndOf");var s=t(n=>e(n,i=>i==="/"),"withoutTrailingSlashes");export{e as a,s as b};
