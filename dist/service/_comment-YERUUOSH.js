import{a}from"./chunk-DA75SOML.js";import"./chunk-IN6TKUCU.js";import"./chunk-N2KG4B7V.js";export{a as postOnPull};
