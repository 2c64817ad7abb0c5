import{b as o,c as r,d as m}from"./chunk-OFXVAIBN.js";import"./chunk-RBDGRDZ6.js";import"./chunk-TXJ3TIEV.js";import"./chunk-N2KG4B7V.js";export{o as citedNow,m as stalenessByRuns,r as stalenessOf};
