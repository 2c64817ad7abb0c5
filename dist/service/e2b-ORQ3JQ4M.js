import{a as o}from"./chunk-GWREZQLY.js";import"./chunk-NUHIZJOJ.js";import"./chunk-N2KG4B7V.js";export{o as makeSandboxes};
