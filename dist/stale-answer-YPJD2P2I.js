import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{b as a,c as b,d as c}from"./chunk-PX35E3VN.js";import"./chunk-NJ5A4TBI.js";import"./chunk-ERVD6KXK.js";import"./chunk-4PE4R5KT.js";import"./chunk-BJYCVDHW.js";import"./chunk-N2KG4B7V.js";export{a as citedNow,c as stalenessByRuns,b as stalenessOf};
