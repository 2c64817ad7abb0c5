import{jb as a}from"./chunk-M5XCVGC4.js";import"./chunk-N2KG4B7V.js";export{a as default};
