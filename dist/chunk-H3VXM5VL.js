import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{a as t}from"./chunk-YKBBMY7I.js";import{hash as r}from"node:crypto";function u(n){return r("sha256",n.map(i).join(`
`))}t(u,"digestLines");function i(n){return(/[^\t\x20-\x7e]/.test(n)?n.replace(/[\u0000-\u0008\u000a-\u001f\u007f\ufeff\ufffd]/g,""):n).trimEnd()}t(i,"normalizeLine");export{u as a};
