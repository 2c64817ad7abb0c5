import{a as o}from"./chunk-HN5I66MR.js";import"./chunk-O4JON45Z.js";import"./chunk-N2KG4B7V.js";export{o as makeSandboxes};
