import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{b as a,c as b,d as c}from"./chunk-X6CPIR2W.js";import"./chunk-2Y4ZQNGQ.js";import"./chunk-4PE4R5KT.js";import"./chunk-ERVD6KXK.js";import"./chunk-BJYCVDHW.js";import"./chunk-N2KG4B7V.js";export{a as citedNow,c as stalenessByRuns,b as stalenessOf};
