import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{m as a,n as b}from"./chunk-BPQSQ4EK.js";import"./chunk-AZPY7ZDX.js";import"./chunk-F57LCKGY.js";import"./chunk-SDXZGHEC.js";import"./chunk-4PE4R5KT.js";import"./chunk-ERVD6KXK.js";import"./chunk-BJYCVDHW.js";import"./chunk-N2KG4B7V.js";export{b as compareFrom,a as refuseSame};
