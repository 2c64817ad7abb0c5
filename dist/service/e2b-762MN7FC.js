import{a as o}from"./chunk-H5IGIYDR.js";import"./chunk-3W3ZT7NF.js";import"./chunk-N2KG4B7V.js";export{o as makeSandboxes};
