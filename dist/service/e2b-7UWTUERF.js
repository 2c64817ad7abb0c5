import{a as o}from"./chunk-NFNBRPMN.js";import"./chunk-M5XCVGC4.js";import"./chunk-N2KG4B7V.js";export{o as makeSandboxes};
