import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{a as e}from"./chunk-YKBBMY7I.js";var o=["quick","normal","deep"],s={quick:{rounds:1,tokens:12e3,seconds:60},normal:{rounds:3,tokens:36e3,seconds:180},deep:{rounds:8,tokens:6e4,seconds:600}},d=12e3,r=e(n=>o.find(t=>t===n),"depthNamed");export{o as a,s as b,d as c,r as d};
