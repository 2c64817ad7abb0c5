import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{m as a,n as b}from"./chunk-65UHCXG2.js";import"./chunk-NUXFXPOM.js";import"./chunk-QDWSOHZE.js";import"./chunk-NJ5A4TBI.js";import"./chunk-ERVD6KXK.js";import"./chunk-4PE4R5KT.js";import"./chunk-BJYCVDHW.js";import"./chunk-N2KG4B7V.js";export{b as compareFrom,a as refuseSame};
