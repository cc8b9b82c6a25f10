package main

import (
	"os"
	"fmt"
)

func main() { fmt.Println(serveConstant(os.Args[1], 200)) }
