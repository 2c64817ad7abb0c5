import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{b as a,c as b,d as c}from"./chunk-K4V5SZYO.js";import"./chunk-5476ZCAN.js";import"./chunk-ECA3DFYX.js";import"./chunk-EHWMYIEY.js";import"./chunk-AX6VE336.js";import"./chunk-YKBBMY7I.js";export{b as checkStaleness,c as checkStalenessByRuns,a as currentCitations};
