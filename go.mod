module iocause

go 1.26
