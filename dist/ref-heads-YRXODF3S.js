import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{a,b,c}from"./chunk-VCFBIABW.js";import"./chunk-JRYBOF7H.js";import"./chunk-ITT3254R.js";import"./chunk-KHHE3U6X.js";import"./chunk-3R64ZEPI.js";import"./chunk-BP7M5CTC.js";import"./chunk-YKBBMY7I.js";export{b as headsOf,a as hostRef,c as readRef};
