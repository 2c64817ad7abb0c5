import{a as o}from"./chunk-JUWKTTRX.js";import"./chunk-YYN2CSKF.js";import"./chunk-N2KG4B7V.js";export{o as makeSandboxes};
