import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{a}from"./chunk-G3XSEWTY.js";import"./chunk-F3TMISYX.js";import"./chunk-6USOLXGZ.js";import"./chunk-UXNQQNSD.js";import"./chunk-4HFZBNFL.js";import"./chunk-J4T4HDJW.js";import"./chunk-PFMFL5KW.js";import"./chunk-UZNZBEJ5.js";import"./chunk-YKBBMY7I.js";export{a as makeSandboxes};
