import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{b as a,c as b,d as c}from"./chunk-BO6BIX65.js";import"./chunk-BKFGC2DA.js";import"./chunk-BPDHWISZ.js";import"./chunk-L2MBRGMI.js";import"./chunk-4CP3HS2W.js";import"./chunk-YKBBMY7I.js";export{a as citedNow,c as stalenessByRuns,b as stalenessOf};
