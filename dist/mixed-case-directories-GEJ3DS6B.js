import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{a}from"./chunk-VCKB76KB.js";import"./chunk-2NN4VQMX.js";import"./chunk-3R64ZEPI.js";import"./chunk-BP7M5CTC.js";import"./chunk-YKBBMY7I.js";export{a as olderSpellings};
