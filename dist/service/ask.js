import{gb as a}from"./chunk-2YMWOJHW.js";import"./chunk-N2KG4B7V.js";export{a as default};
