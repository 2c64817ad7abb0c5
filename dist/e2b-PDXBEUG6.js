import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{a}from"./chunk-5D7G6QIR.js";import"./chunk-65T3FZAK.js";import"./chunk-QM45NUCJ.js";import"./chunk-BJYCVDHW.js";import"./chunk-N2KG4B7V.js";export{a as makeSandboxes};
