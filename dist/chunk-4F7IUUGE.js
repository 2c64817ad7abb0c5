import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);
var e={full:"Remove old runs, or give the drive9 account more files or bytes.",tooLarge:"Leave large files out, or ask the drive9 account’s owner for a higher limit.",unreachable:"Check DRIVE9_SERVER and the network, then try again."};export{e as a};
