import{a}from"./chunk-4JU7Z3NW.js";import"./chunk-VOSUFAVF.js";import"./chunk-BJYCVDHW.js";import"./chunk-N2KG4B7V.js";export{a as makeSandboxes};
