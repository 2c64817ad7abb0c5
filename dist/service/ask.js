import{jb as a}from"./chunk-TXJ3TIEV.js";import"./chunk-N2KG4B7V.js";export{a as default};
