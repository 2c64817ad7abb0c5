import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{a as r}from"./chunk-YKBBMY7I.js";function u(n,i){if(!n)return;let e=n.trim(),t=/^\d{1,9}(\.\d{1,9})?$/.test(e)?Number(e)*1e3:Date.parse(e)-i;return Number.isFinite(t)?Math.max(0,t):void 0}r(u,"retryAfterMs");export{u as a};
