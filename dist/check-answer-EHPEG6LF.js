import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
import{b as a,c as b,d as c}from"./chunk-NGQJL2WP.js";import"./chunk-3NJ6ZCQV.js";import"./chunk-ECA3DFYX.js";import"./chunk-YTH5OSGE.js";import"./chunk-ERQRO3Z3.js";import"./chunk-YKBBMY7I.js";export{b as checkStaleness,c as checkStalenessByRuns,a as currentCitations};
