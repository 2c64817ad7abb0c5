import{a}from"./chunk-6EYEAM5Q.js";import"./chunk-65T3FZAK.js";import"./chunk-QM45NUCJ.js";import"./chunk-BJYCVDHW.js";import"./chunk-N2KG4B7V.js";export{a as makeSandboxes};
