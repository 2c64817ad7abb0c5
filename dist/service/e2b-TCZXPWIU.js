import{a}from"./chunk-CC62DIML.js";import"./chunk-65T3FZAK.js";import"./chunk-BJYCVDHW.js";import"./chunk-N2KG4B7V.js";export{a as makeSandboxes};
