import{fb as a}from"./chunk-NUHIZJOJ.js";import"./chunk-N2KG4B7V.js";export{a as default};
