module github.com/kylelemons/godebug

go 1.26.0
